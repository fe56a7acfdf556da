package problem

// Rules that Go code checks. An editor that uses the schema also finds the first three kinds of problems.
var (
	UnknownKey  = Rule{Name: "unknown-key", Doc: "Every key is defined in the schema, or is a name of the form that the schema requires"}
	MissingKey  = Rule{Name: "missing-key", Doc: "Every key that the schema requires is given"}
	WrongValue  = Rule{Name: "wrong-value", Doc: "Every value is allowed by the schema"}
	Invalid     = Rule{Name: "invalid-value", Doc: "A value that the schema allows is unambiguous, and consistent with the values around it"}
	UnknownName = Rule{Name: "unknown-name", Doc: "A name that refers to something in the document exists there"}
	TooLarge    = Rule{Name: "too-large", Doc: "An object is not larger than the API server accepts"}
	TooMany     = Rule{Name: "too-many-values", Doc: "A document and all its environments together have a limited number of keys and values"}
	EmptyFile   = Rule{Name: "empty-file", Doc: "A layer is not empty"}
	IdleNull    = Rule{Name: "idle-null", Doc: "A null removes a key that an earlier layer sets"}
)
