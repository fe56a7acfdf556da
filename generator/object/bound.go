package object

// Bound is an upper limit for sums of a document's values. The values of a chart can differ from the document's,
// so a chart checks each bound again. Bounds cover only fields that are parameters of objects. They do not cover
// queues, because a queue chooses between flavors.
type Bound struct {
	Limit Amount
	Sums  []*Sum // none may exceed Limit; several bounds share a sum
}

// Sum is an amount of a resource that pods request together, or another amount with a limit.
type Sum struct {
	Path      string // of the document section that it belongs to, such as spec.runtimes.mpi
	Requester string // as messages name it, such as: the smallest TrainJob of mpi (a launcher and a node)
	Amounts   []Amount
}

// Amount is a value of the document.
type Amount struct {
	Path  string // of the field, equal to the Key of its parameters; empty for a constant
	Value any    // a number, or a Kubernetes quantity
}
