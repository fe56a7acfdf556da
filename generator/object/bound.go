package object

// Bound is an upper limit for sums of values in a document. A Helm chart checks each bound again at installation,
// because users can change the values of a chart. Bounds cover only fields that are parameters of objects. Bounds do
// not cover queues, because a queue has no single limit if it can choose between several resource flavors.
type Bound struct {
	Limit Amount
	Sums  []*Sum // no sum may exceed Limit; several bounds can share a sum
}

// Sum is an amount of a resource that several pods request together, or another sum of values that has a limit.
type Sum struct {
	Path      string // path of the document's section to which the sum belongs, such as spec.runtimes.mpi
	Requester string // the name of the sum in messages, such as: the smallest TrainJob of mpi (a launcher and a node)
	Amounts   []Amount
}

// Amount is one term of a Sum, which is a value of the document or a constant.
type Amount struct {
	Path  string // path of the document's field, as in Parameter.Key; empty for a constant
	Value any    // a number, or a Kubernetes quantity
}
