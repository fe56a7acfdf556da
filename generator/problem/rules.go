package problem

// These variables hold the rules that Go code checks. Three of these rules can also be checked by an editor that uses
// the schema: "unknown-key", "missing-key" and "wrong-value".
var (
	UnknownKey  = Rule{Name: "unknown-key", Doc: "Every key is defined by the schema, or is a name that matches the schema's pattern for names"}
	MissingKey  = Rule{Name: "missing-key", Doc: "The document sets every key that the schema requires"}
	WrongValue  = Rule{Name: "wrong-value", Doc: "The schema allows every value"}
	Invalid     = Rule{Name: "invalid-value", Doc: "Every value is unambiguous, and consistent with the values around it"}
	UnknownName = Rule{Name: "unknown-name", Doc: "Each reference in the document names an existing entry"}
	TooLarge    = Rule{Name: "too-large", Doc: "Every object is small enough for the API server"}
	TooMany     = Rule{Name: "too-many-values", Doc: "A document and all its environments together have a limited number of keys and values"}
	EmptyFile   = Rule{Name: "empty-file", Doc: "A layer is not empty"}
	IdleNull    = Rule{Name: "idle-null", Doc: "A null removes a key that an earlier layer sets"}
)
