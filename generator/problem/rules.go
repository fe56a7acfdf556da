package problem

// Rules that Go code checks. An editor that uses the schema also finds violations of the first three rules.
var (
	UnknownKey  = Rule{Name: "unknown-key", Doc: "The schema defines every key, or the key is a name with the form that the schema requires"}
	MissingKey  = Rule{Name: "missing-key", Doc: "The document sets every key that the schema requires"}
	WrongValue  = Rule{Name: "wrong-value", Doc: "The schema allows every value"}
	Invalid     = Rule{Name: "invalid-value", Doc: "Every value that the schema allows is also unambiguous, and consistent with the values around it"}
	UnknownName = Rule{Name: "unknown-name", Doc: "Every name that refers to an entry of the document is the name of an existing entry"}
	TooLarge    = Rule{Name: "too-large", Doc: "Every object is small enough for the API server"}
	TooMany     = Rule{Name: "too-many-values", Doc: "A document and all its environments together have a limited number of keys and values"}
	EmptyFile   = Rule{Name: "empty-file", Doc: "A layer is not empty"}
	IdleNull    = Rule{Name: "idle-null", Doc: "A null removes a key that an earlier layer sets"}
)
