package object

// Bound is an upper limit for sums of values in a document. A Helm chart checks each bound again at installation, because the
// values of a chart can differ from those of the document. Bounds cover only fields that are parameters of objects. Bounds do
// not cover queues, because a queue can choose between several resource flavors.
type Bound struct {
	Limit Amount
	Sums  []*Sum // no sum may exceed Limit; several bounds can share a sum
}

// Sum is an amount of a resource that several pods request together, or another sum of values that has a limit.
type Sum struct {
	Path      string // path of the section of the document to which the sum belongs, such as spec.runtimes.mpi
	Requester string // the words for the pods in messages, such as: the smallest TrainJob of mpi (a launcher and a node)
	Amounts   []Amount
}

// Amount is one term of a Sum, which is a value of the document or a constant.
type Amount struct {
	Path  string // path of the field, equal to the Key of its parameters; empty for a constant
	Value any    // a number, or a Kubernetes quantity
}
