package fetch

import (
	"bytes"
	"errors"
	"strings"

	"github.com/ProtonMail/go-crypto/openpgp"
	openpgperrors "github.com/ProtonMail/go-crypto/openpgp/errors"
	"github.com/go-git/go-git/v5/plumbing"

	"github.com/trainyard/trainyard/api/message"
)

const beginSignature = "-----BEGIN PGP SIGNATURE-----"

// verifySignature checks that one of the keys signed the commit or the selected annotated tag. The signed
// text of a tag contains the tag's name. The signature of a tag counts only if this name equals the name
// that the tag has on the server. Without this condition, somebody could publish an old signed tag under
// a new name.
func verifySignature(keys openpgp.EntityList, d download) error {
	err := checkSignature(keys, d.commit.signed, d.commit.signature)
	if err == nil {
		return nil
	}
	if t := d.tag; t != nil && t.signature != "" {
		if tags+t.name != d.selected.ref {
			return verifyErrorf("reference %s points to a tag that was signed under another name, %s, so the signature is not accepted", d.selected.ref, message.Quote(t.name))
		}
		err = checkSignature(keys, t.signed, t.signature)
	}
	if err == nil {
		return nil
	}
	return verifyErrorf("commit %s %v", d.selected.commit, err)
}

// checkSignature checks that a signature was made with one of the given keys. The text of an error begins with a verb,
// because verifySignature writes "commit HASH" before it, as in "commit HASH has no OpenPGP signature".
func checkSignature(keys openpgp.EntityList, signed []byte, signature string) error {
	if !strings.HasPrefix(signature, beginSignature) {
		return errors.New("has no OpenPGP signature")
	}
	_, err := openpgp.CheckArmoredDetachedSignature(keys, bytes.NewReader(signed), strings.NewReader(signature), nil)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, openpgperrors.ErrUnknownIssuer):
		return errors.New("is signed with a key that is not in the Secret of spec.verify")
	case errors.Is(err, openpgperrors.ErrKeyExpired):
		return errors.New("is signed with an expired key")
	case errors.Is(err, openpgperrors.ErrSignatureExpired):
		return errors.New("has a signature that is expired, or was made in the future")
	case errors.Is(err, openpgperrors.ErrKeyRevoked):
		return errors.New("is signed with a revoked key")
	}
	return errors.New("has an invalid signature")
}

// descends reports whether the commit "newest" descends from the commit "ancestor". The argument "all" contains the
// objects that the server sent for requestHistory. The search starts at "newest", and follows the parents of each
// commit until it finds the hash of "ancestor". To find the parents of a commit, the search needs the object of this
// commit in "all". If the object is missing, the search does not continue from this commit. The commit "ancestor" is an
// exception. The search needs only the hash of this commit, so its object can be missing in "all".
func descends(all objects, newest, ancestor plumbing.Hash) (bool, error) {
	seen := map[plumbing.Hash]bool{}
	for open := []plumbing.Hash{newest}; len(open) > 0; {
		hash := open[len(open)-1]
		open = open[:len(open)-1]
		if hash == ancestor {
			return true, nil
		}
		data, exists := all[hash]
		if seen[hash] || !exists || data.kind != plumbing.CommitObject {
			continue
		}
		seen[hash] = true
		c, err := parseCommit(data.data)
		if err != nil {
			return false, err
		}
		open = append(open, c.parents...)
	}
	return false, nil
}
