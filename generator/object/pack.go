package object

import (
	"reflect"
	"sync"

	"github.com/fxamacker/cbor/v2"
)

// Pack keeps a value, which may hold sets, in few bytes, and always in the same: as CBOR (RFC 8949), which is read several
// times faster than JSON.
func Pack(value any) ([]byte, error) {
	mode, err := writer()
	if err != nil {
		return nil, err
	}
	return mode.Marshal(value)
}

// Unpack reads what Pack wrote, with the types it had: decoded JSON stays decoded JSON. It fails on anything else.
func Unpack(text []byte, into any) error {
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
