package trainjobsource

import (
	"bytes"
	"strings"
	"testing"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainyard/trainyard/api/v1alpha1"
)

func newKey(t *testing.T) (key *openpgp.Entity, public string) {
	t.Helper()
	key, err := openpgp.NewEntity("robot", "", "robot@example.com", nil)
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	w, err := armor.Encode(&text, openpgp.PublicKeyType, nil)
	if err == nil {
		err = key.Serialize(w)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return key, text.String()
}

func (l *live) sign(key *openpgp.Entity) {
	l.t.Helper()
	text, err := l.git.Git("cat-file", "commit", "HEAD")
	if err != nil {
		l.t.Fatal(err)
	}
	text += "\n"
	var signature bytes.Buffer
	if err := openpgp.ArmoredDetachSign(&signature, key, strings.NewReader(text), nil); err != nil {
		l.t.Fatal(err)
	}
	head, message, _ := strings.Cut(text, "\n\n")
	signed := head + "\ngpgsig " + strings.ReplaceAll(strings.TrimSpace(signature.String()), "\n", "\n ") + "\n\n" + message
	if _, err := l.git.Put("commit", "refs/heads/main", []byte(signed)); err != nil {
		l.t.Fatal(err)
	}
}

func TestRemovedKeyStopsWaitingJobs(t *testing.T) {
	l := newLive(t)
	key, public := newKey(t)
	_, other := newKey(t)
	l.putSecret(tenants[0], "keys", "", map[string]string{"robot": public})
	l.object.Spec.Verify = &v1alpha1.Verification{SecretRef: &v1alpha1.LocalReference{Name: "keys"}}
	l.push("bert", "numNodes: 2")
	l.sign(key)
	l.run(l.options())
	l.create()
	l.waitRuns("a signed commit", "bert/1 nodes=2")
	l.push("bert", "numNodes: 3")
	l.sign(key)
	l.sync()
	l.waitState("bert", "Waiting", "bert")

	secret := &corev1.Secret{}
	if err := l.cp.Client().Get(t.Context(), client.ObjectKey{Namespace: tenants[0], Name: "keys"}, secret); err != nil {
		t.Fatal(err)
	}
	secret.Data = map[string][]byte{"other": []byte(other)}
	if err := l.cp.Client().Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	l.sync()
	l.wait("False", v1alpha1.ReasonVerificationFailed)
	l.endRun()
	l.sync()
	l.wait("False", v1alpha1.ReasonVerificationFailed)
	l.waitRuns("the key was removed", "bert/1 nodes=2")

	secret.Data["robot"] = []byte(public)
	if err := l.cp.Client().Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	l.sync()
	l.waitRuns("the key is back", "bert/1 nodes=2", "bert/2 nodes=3")
}
