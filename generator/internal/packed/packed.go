// Package packed keeps values in few bytes, as CBOR (RFC 8949), which is read several times faster than
// JSON. What is read has the types it was written with: decoded JSON stays decoded JSON.
package packed

import (
	"reflect"
	"sync"

	"github.com/fxamacker/cbor/v2"
)

// Marshal writes a value, always in the same bytes.
func Marshal(value any) ([]byte, error) {
	mode, err := writer()
	if err != nil {
		return nil, err
	}
	return mode.Marshal(value)
}

// Unmarshal reads what Marshal wrote. It fails on anything else.
func Unmarshal(text []byte, into any) error {
	mode, err := reader()
	if err != nil {
		return err
	}
	return mode.Unmarshal(text, into)
}

var writer = sync.OnceValues(cbor.EncOptions{Sort: cbor.SortBytewiseLexical}.EncMode)

// reader reads mappings as JSON has them, and integers as int64 wherever they stand.
var reader = sync.OnceValues(cbor.DecOptions{
	DefaultMapType: reflect.TypeFor[map[string]any](), IntDec: cbor.IntDecConvertSigned,
	MaxNestedLevels: 256, // of ours: no person writes any
}.DecMode)
