package object

// Bound is a rule about a document: no sum in Sums may exceed the limit. A Helm chart checks bounds again at
// installation, because users can change the values of the chart. Users can change only values that are parameters of
// objects. Therefore the chart does not check a sum if neither the limit nor any term of the sum is such a parameter.
// There are no bounds for queues, because a queue that can choose between several resource flavors has no single limit.
type Bound struct {
	Limit Amount
	Sums  []*Sum // several bounds can share a sum
}

// Sum is a sum of values in a document. An example of a sum is the memory that all pods of a TrainJob request
// together.
type Sum struct {
	Path      string // path of the document's section to which the sum belongs, such as spec.runtimes.mpi
	Requester string // the name of the sum in messages, such as: the smallest TrainJob of mpi (a launcher and a node)
	Amounts   []Amount
}

// Amount is one term of a Sum. An Amount is a value of the document, or a constant.
type Amount struct {
	Path  string // path of the document's field, as in Parameter.Key; empty for a constant
	Value any    // a number, or a Kubernetes quantity
}
