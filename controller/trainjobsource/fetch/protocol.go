package fetch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
)

// remote is a repository on a server that speaks version 0 of Git's protocol
// (https://git-scm.com/docs/pack-protocol).
type remote interface {
	// advertisement returns the server's list of branches and tags. The method "advertisement" must be called before
	// the method "exchange".
	advertisement(ctx context.Context) (io.Reader, error)
	// exchange sends a complete request for a pack, and returns the answer.
	exchange(ctx context.Context, message []byte) (io.Reader, error)
	close()
}

// readAdvertisement parses the server's list of branches and tags. The list may have at most "limit" bytes.
func readAdvertisement(r io.Reader, limit int64) (*packp.AdvRefs, error) {
	list := packp.NewAdvRefs()
	tooLong := fmt.Errorf("the server's list of branches and tags is larger than %s", size(limit))
	err := list.Decode(&limitedReader{r, limit, tooLong})
	switch format := list.Capabilities.Get(capability.ObjectFormat); {
	case errors.Is(err, packp.ErrEmptyAdvRefs):
		return nil, configErrorf("the repository is empty")
	case err != nil:
		return nil, fmt.Errorf("reading the server's list of branches and tags: %w", describeProtocol(err))
	case len(format) > 0 && format[0] != "sha1":
		return nil, configErrorf("the repository uses hashes of type %s: only sha1 is supported", format[0])
	}
	return list, nil
}

// requestSnapshot asks for a commit or tag with its files, but without its history.
func requestSnapshot(ctx context.Context, server remote, list *packp.AdvRefs, want plumbing.Hash) (io.Reader, error) {
	request := newRequest(list, want)
	if !list.Capabilities.Supports(capability.Shallow) {
		return nil, configErrorf("the server does not support shallow clones, which the controller needs")
	}
	request.Depth = packp.DepthCommits(1)
	enable(request, capability.Shallow)
	return send(ctx, server, request)
}

// requestHistory asks for the commits between the commit "have", which was fetched earlier, and the object "want".
// Files and folders are not needed, so requestHistory asks the server to leave them out, if the server supports
// this.
func requestHistory(ctx context.Context, server remote, list *packp.AdvRefs, have, want plumbing.Hash) (io.Reader, error) {
	request := newRequest(list, want)
	request.Haves = []plumbing.Hash{have}
	if list.Capabilities.Supports(capability.Filter) {
		enable(request, capability.Filter)
		request.Filter = packp.FilterTreeDepth(0)
	}
	return send(ctx, server, request)
}

func newRequest(list *packp.AdvRefs, want plumbing.Hash) *packp.UploadPackRequest {
	request := packp.NewUploadPackRequest()
	request.Wants = []plumbing.Hash{want}
	for _, useful := range []capability.Capability{capability.Sideband64k, capability.OFSDelta, capability.NoProgress} {
		if list.Capabilities.Supports(useful) {
			enable(request, useful)
		}
	}
	return request
}

// enable adds a capability to a request.
func enable(request *packp.UploadPackRequest, c capability.Capability) {
	_ = request.Capabilities.Set(c) // only capabilities with arguments cause errors
}

// send sends a request, and returns the pack of the answer.
func send(ctx context.Context, server remote, request *packp.UploadPackRequest) (io.Reader, error) {
	var message bytes.Buffer
	err := request.UploadRequest.Encode(&message)
	if err == nil {
		err = request.UploadHaves.Encode(&message, false)
	}
	if err == nil {
		err = pktline.NewEncoder(&message).EncodeString("done\n")
	}
	if err != nil {
		return nil, err
	}
	answer, err := server.exchange(ctx, message.Bytes())
	if err != nil {
		return nil, err
	}
	response := packp.NewUploadPackResponse(request)
	if err := response.Decode(io.NopCloser(answer)); err != nil {
		return nil, describeProtocol(err)
	}
	if request.Capabilities.Supports(capability.Sideband64k) {
		return sideband.NewDemuxer(sideband.Sideband64k, response), nil
	}
	return response, nil
}

// describeProtocol returns an error with the server's message, if the given error contains such a
// message. Otherwise describeProtocol returns the given error.
func describeProtocol(err error) error {
	line := (*pktline.ErrorLine)(nil)
	switch {
	case !errors.As(err, &line):
		return err
	case strings.Contains(line.Text, "not our ref"):
		return configErrorf("the repository does not contain the commit, or the server does not allow fetching this commit: %s", line.Text)
	}
	return errors.New("the server reports: " + line.Text)
}
