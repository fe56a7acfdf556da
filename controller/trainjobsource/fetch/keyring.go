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

// readKeys reads the key rings in the Secret that spec.verify names. A value of the Secret can contain several
// armored blocks.
func readKeys(rings map[string][]byte) (openpgp.EntityList, error) {
	keys := keyring{}
	for _, name := range slices.Sorted(maps.Keys(rings)) {
		if len(rings[name]) > maxValue {
			return nil, configErrorf("the entry %q of the Secret of spec.verify is larger than %s", name, size(maxValue))
		}
		before := len(keys.keys)
		if err := keys.add(rings[name]); err != nil {
			return nil, configErrorf("the entry %q of the Secret of spec.verify cannot be used as an armored OpenPGP key ring: %v", name, err)
		}
		if len(keys.keys) == before {
			return nil, configErrorf("the entry %q of the Secret of spec.verify contains no OpenPGP key", name)
		}
	}
	if len(keys.keys) == 0 {
		return nil, configErrorf("the Secret of spec.verify contains no OpenPGP key")
	}
	return keys.keys, nil
}

// maxSignatures and maxRSABits limit the keys that verify the commits of a TrainJobSource. Without these limits,
// reading the keys could take hours, because the OpenPGP library checks the signatures of keys while it reads the
// keys.
const (
	maxSignatures = 500
	maxRSABits    = 8192
)

// keyring collects OpenPGP keys, and counts the signatures that are part of these keys.
type keyring struct {
	keys       openpgp.EntityList
	signatures int // of the keys
}

// add reads the armored blocks of a text, and collects their keys.
func (k *keyring) add(text []byte) error {
	for r := bytes.NewReader(text); ; {
		block, err := armor.Decode(r)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		packets, err := io.ReadAll(block.Body)
		if err != nil {
			return err
		}
		if err := k.check(packets); err != nil {
			return err
		}
		keys, err := openpgp.ReadKeyRing(bytes.NewReader(packets))
		if err != nil {
			return err
		}
		k.keys = append(k.keys, keys...)
	}
}

// check returns an error if the keys exceed a limit. check itself verifies no signature, so it is
// fast.
func (k *keyring) check(packets []byte) error {
	for reader := packet.NewOpaqueReader(bytes.NewReader(packets)); ; {
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
			if k.signatures++; k.signatures > maxSignatures {
				return fmt.Errorf("the keys have more than %d signatures in total", maxSignatures)
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

// checkKey refuses keys whose signatures take much time to verify.
func checkKey(key *packet.PublicKey) error {
	switch key.PubKeyAlgo {
	case packet.PubKeyAlgoRSA, packet.PubKeyAlgoRSAEncryptOnly, packet.PubKeyAlgoRSASignOnly:
		bits, err := key.BitLength()
		if err != nil {
			return fmt.Errorf("reading an RSA key: %w", err)
		}
		if bits > maxRSABits {
			return fmt.Errorf("an RSA key has more than %d bits", maxRSABits)
		}
		return nil
	case packet.PubKeyAlgoElGamal, packet.PubKeyAlgoDSA:
		return errors.New("DSA and ElGamal keys are not allowed: use RSA or an elliptic curve")
	}
	return nil
}
