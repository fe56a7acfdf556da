package fetch

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

// readKeys reads the key rings in the Secret that spec.verify names. A value can contain several armored blocks.
func readKeys(rings map[string][]byte) (openpgp.EntityList, error) {
	var keys openpgp.EntityList
	for _, name := range slices.Sorted(maps.Keys(rings)) {
		if len(rings[name]) > maxValue {
			return nil, configErrorf("the value %q of the Secret of spec.verify has more than %s", name, size(maxValue))
		}
		before := len(keys)
		for r := bytes.NewReader(rings[name]); ; {
			block, err := armor.Decode(r)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return nil, configErrorf("the value %q of the Secret of spec.verify is not an armored OpenPGP key ring: %v", name, err)
			}
			ring, err := readKeyRing(block.Body)
			if err != nil {
				return nil, configErrorf("the value %q of the Secret of spec.verify is not an OpenPGP key ring: %v", name, err)
			}
			keys = append(keys, ring...)
		}
		if len(keys) == before {
			return nil, configErrorf("the value %q of the Secret of spec.verify contains no OpenPGP key", name)
		}
	}
	if len(keys) == 0 {
		return nil, configErrorf("the Secret of spec.verify contains no OpenPGP key")
	}
	return keys, nil
}

// Limits of a key ring. The OpenPGP library checks the signatures in a key ring while it reads the ring, which can need hours for large
// keys.
const (
	maxSignatures = 500
	maxRSABits    = 8192
)

// readKeyRing reads a key ring within the limits.
func readKeyRing(r io.Reader) (openpgp.EntityList, error) {
	ring, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	if err := checkKeyRing(ring); err != nil {
		return nil, err
	}
	return openpgp.ReadKeyRing(bytes.NewReader(ring))
}

// checkKeyRing checks the limits of a key ring without the check of any signature.
func checkKeyRing(ring []byte) error {
	signatures := 0
	for reader := packet.NewOpaqueReader(bytes.NewReader(ring)); ; {
		opaque, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		parsed, err := opaque.Parse()
		if err != nil {
			continue // ReadKeyRing skips this packet, or reports the error
		}
		switch p := parsed.(type) {
		case *packet.Signature:
			if signatures++; signatures > maxSignatures {
				return fmt.Errorf("it has more than %d signatures", maxSignatures)
			}
		case *packet.PublicKey:
			err = checkKey(p)
		case *packet.PrivateKey:
			err = checkKey(&p.PublicKey)
		}
		if err != nil {
			return err
		}
	}
}

// checkKey refuses keys whose signatures need much time.
func checkKey(key *packet.PublicKey) error {
	switch key.PubKeyAlgo {
	case packet.PubKeyAlgoRSA, packet.PubKeyAlgoRSAEncryptOnly, packet.PubKeyAlgoRSASignOnly:
		if bits, err := key.BitLength(); err != nil || bits > maxRSABits {
			return fmt.Errorf("it has an RSA key of more than %d bits", maxRSABits)
		}
		return nil
	case packet.PubKeyAlgoElGamal, packet.PubKeyAlgoDSA:
		return errors.New("it has a DSA or ElGamal key: use RSA or an elliptic curve")
	}
	return nil
}
