package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/tsdb/index"
)

// series is a Prometheus series in a block of the storage. Series with the same samples use the same chunks.
type series struct {
	labels labels.Labels
	chunks []chunks.Meta
}

// samplesPerChunk is the number of samples after which Prometheus begins a new chunk.
const samplesPerChunk = 120

// encode returns chunks that contain the given values. Each value gets a timestamp in its chunk. The last of the given
// values gets the timestamp endTime.
func encode(values []float64, interval time.Duration) ([]chunks.Meta, error) {
	var all []chunks.Meta
	for first := 0; first < len(values); first += samplesPerChunk {
		chunk := chunkenc.NewXORChunk()
		appender, err := chunk.Appender()
		if err != nil {
			return nil, err
		}
		last := min(first+samplesPerChunk, len(values)) - 1
		at := func(i int) int64 { return endTime.Add(-time.Duration(len(values)-1-i) * interval).UnixMilli() }
		for i := first; i <= last; i++ {
			appender.Append(at(i), values[i])
		}
		all = append(all, chunks.Meta{Chunk: chunk, MinTime: at(first), MaxTime: at(last)})
	}
	return all, nil
}

// writeBlock writes series into a new block in a folder.
func writeBlock(ctx context.Context, dir string, all []series) (err error) {
	slices.SortFunc(all, func(a, b series) int { return labels.Compare(a.labels, b.labels) })
	meta := tsdb.BlockMeta{ULID: ulid.MustNew(ulid.Now(), rand.Reader), Version: 1, MinTime: endTime.UnixMilli(), MaxTime: endTime.UnixMilli() + 1}
	meta.Compaction.Level, meta.Compaction.Sources = 1, []ulid.ULID{meta.ULID}
	block := filepath.Join(dir, meta.ULID.String())
	data, err := chunks.NewWriter(filepath.Join(block, "chunks"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, data.Close()) }()
	w, err := index.NewWriter(ctx, filepath.Join(block, "index"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	for _, symbol := range listSymbols(all) {
		if err := w.AddSymbol(symbol); err != nil {
			return err
		}
	}
	for i, s := range all {
		own := slices.Clone(s.chunks)
		if err := data.WriteChunks(own...); err != nil {
			return err
		}
		if err := w.AddSeries(storage.SeriesRef(i), s.labels, own...); err != nil {
			return fmt.Errorf("%s: %w", s.labels, err)
		}
		meta.MinTime = min(meta.MinTime, own[0].MinTime)
	}
	text, err := json.Marshal(meta)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(block, "meta.json"), text, 0o644)
}

// listSymbols returns all names and values of labels, sorted.
func listSymbols(all []series) []string {
	found := map[string]bool{"": true}
	for _, s := range all {
		s.labels.Range(func(l labels.Label) { found[l.Name], found[l.Value] = true, true })
	}
	return slices.Sorted(maps.Keys(found))
}
