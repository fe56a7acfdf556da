package receiver

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/trainyard/trainyard/api/v1alpha1"
)

// Limits of requests.
const (
	maxBody      = 1 << 20 // bytes
	maxHeader    = 16 << 10
	readTimeout  = 10 * time.Second
	writeTimeout = 30 * time.Second // including the time for requests to the API server
	stopTimeout  = 5 * time.Second  // for requests that are not finished when the program stops
	maxHandled   = 16               // requests that are handled at the same time
	maxSources   = 10_000           // TrainJobSources whose rate is remembered
	retryAfter   = "5"              // seconds, in the answer to a request that exceeds a limit
)

// allRate and allBurst limit the requests for all TrainJobSources together. sourceRate and sourceBurst limit the requests
// for each TrainJobSource, and count only requests with a valid signature. A rate is the average number of requests per
// second, and a burst is the number of requests that can arrive at once. These limits restrict the load that a tenant can
// put on the controller and on the API server.
const (
	allRate, allBurst       = 20, 50
	sourceRate, sourceBurst = 0.5, 5
)

// Receiver is an HTTP handler for POST /hook/NAMESPACE/NAME.
type Receiver struct {
	// Client reads TrainJobSources from a cache, and changes their annotations.
	Client client.Client
	// Secrets is a client that reads one Secret at a time, without a cache.
	Secrets client.Reader

	once    sync.Once
	limiter *rate.Limiter
	slots   chan struct{}

	lock    sync.Mutex
	sources map[types.NamespacedName]*rate.Limiter
}

// Server returns an HTTP server for the given address. A manager runs this server. The server runs on all replicas,
// because a Service sends requests to any replica.
func (r *Receiver) Server(address string) manager.Runnable {
	return &manager.Server{
		Name: "webhooks of Git servers",
		Server: &http.Server{
			Addr: address, Handler: r, MaxHeaderBytes: maxHeader,
			ReadHeaderTimeout: readTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout,
		},
		ShutdownTimeout: new(stopTimeout),
	}
}

// ServeHTTP handles a request. The answer is the same in three cases: the TrainJobSource is unknown, it has no secret,
// or the signature is wrong. Nobody can therefore find out which TrainJobSources exist.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	r.once.Do(func() {
		r.limiter, r.slots = rate.NewLimiter(allRate, allBurst), make(chan struct{}, maxHandled)
		r.sources = map[types.NamespacedName]*rate.Limiter{}
	})
	mux := http.NewServeMux()
	mux.HandleFunc("POST /hook/{namespace}/{name}", r.receive)
	mux.ServeHTTP(w, request)
}

func (r *Receiver) receive(w http.ResponseWriter, request *http.Request) {
	key := types.NamespacedName{Namespace: request.PathValue("namespace"), Name: request.PathValue("name")}
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	default:
		refuse(w)
		return
	}
	if !r.limiter.Allow() {
		refuse(w)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, request.Body, maxBody))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		http.Error(w, "the request has more than 1 MiB", http.StatusRequestEntityTooLarge)
		return
	} else if err != nil {
		http.Error(w, "the request is incomplete", http.StatusBadRequest)
		return
	}
	source, secret := r.find(request.Context(), key)
	if authentic := isAuthentic(request.Header, body, secret); !authentic || source == nil {
		http.Error(w, "unknown TrainJobSource, or wrong signature", http.StatusForbidden)
		return
	}
	if !r.allows(key) {
		refuse(w)
		return
	}
	if err := r.requestFetch(request.Context(), source); err != nil {
		log.FromContext(request.Context()).Error(err, "requesting a fetch", "trainjobsource", key)
		http.Error(w, "the TrainJobSource could not be changed", http.StatusServiceUnavailable)
		return
	}
	w.WriteHeader(http.StatusAccepted)
}

// refuse is a function that sends the response "too many requests". The receiver calls this function if a request
// exceeds a limit.
func refuse(w http.ResponseWriter) {
	w.Header().Set("Retry-After", retryAfter)
	http.Error(w, "too many requests", http.StatusTooManyRequests)
}

// find returns a TrainJobSource and the secret of its webhook. If the TrainJobSource is unknown, the first result is
// nil. If the secret does not exist or cannot be read, the second result is empty. The answer for an unknown
// TrainJobSource should take about the same time as the answer for a known TrainJobSource. Therefore the method "find"
// asks the API server for a Secret in both cases.
func (r *Receiver) find(ctx context.Context, key types.NamespacedName) (*v1alpha1.TrainJobSource, []byte) {
	if len(validation.IsDNS1123Label(key.Namespace))+len(validation.IsDNS1123Label(key.Name)) > 0 {
		key = types.NamespacedName{Namespace: "unknown", Name: "unknown"}
	}
	source := &v1alpha1.TrainJobSource{}
	name := "unknown"
	if err := r.Client.Get(ctx, key, source); err != nil {
		source = nil
	} else if source.Spec.SecretRef != nil {
		name = source.Spec.SecretRef.Name
	}
	secret := &corev1.Secret{}
	err := r.Secrets.Get(ctx, types.NamespacedName{Namespace: key.Namespace, Name: name}, secret)
	if err != nil || source == nil || source.Spec.SecretRef == nil {
		return source, nil
	}
	return source, bytes.TrimRight(secret.Data[v1alpha1.WebhookKey], "\r\n") // many tools add a line break
}

// allows is a method that returns true if the rate limit of a TrainJobSource permits one more request.
func (r *Receiver) allows(key types.NamespacedName) bool {
	r.lock.Lock()
	defer r.lock.Unlock()
	limiter := r.sources[key]
	if limiter == nil {
		if len(r.sources) >= maxSources {
			clear(r.sources)
		}
		limiter = rate.NewLimiter(sourceRate, sourceBurst)
		r.sources[key] = limiter
	}
	return limiter.Allow()
}

// requestFetch changes the annotation trainyard.dev/sync, which makes the controller fetch from Git.
func (r *Receiver) requestFetch(ctx context.Context, source *v1alpha1.TrainJobSource) error {
	changed := source.DeepCopy()
	if changed.Annotations == nil {
		changed.Annotations = map[string]string{}
	}
	changed.Annotations[v1alpha1.SyncAnnotation] = "webhook at " + time.Now().UTC().Format(time.RFC3339Nano)
	return r.Client.Patch(ctx, changed, client.MergeFrom(source))
}
