package diagnosis

import (
	_ "embed" // the catalogue
	"fmt"
	"slices"
	"sync"

	"go.yaml.in/yaml/v3"
)

// Level says how well a failure explains the state of a TrainJob.
type Level string

const (
	// Cause is the level of a failure that explains why the TrainJob has failed, why it does not start, or why it does
	// not end.
	Cause Level = "cause"
	// General is the level of a failure that has many possible causes. Diagnose returns failures of level
	// Cause before failures of level General.
	General Level = "general"
	// Symptom is the level of a failure whose message does not explain the failure. For example, the message says
	// only that a process ended. In most cases, a symptom is the consequence of another failure.
	Symptom Level = "symptom"
)

// levels lists all levels. Failures of the first level explain the state of a TrainJob best, and
// failures of the last level explain it worst.
var levels = []Level{Cause, General, Symptom}

// Retry says whether the same TrainJob can succeed later.
type Retry string

const (
	// RetryNever means that the TrainJob cannot succeed until somebody changes something, such as the TrainJob or the
	// cluster.
	RetryNever Retry = "no"
	// RetryAgain means that the same TrainJob can succeed if it runs again.
	RetryAgain Retry = "yes"
	// RetryWait means that the TrainJob starts by itself, as soon as resources or quota are free.
	RetryWait Retry = "wait"
)

// Failure is a known failure of TrainJobs.
type Failure struct {
	// Code is a short, stable name, such as OutOfMemory.
	Code  string `yaml:"code"`
	Level Level  `yaml:"level"`
	// Origin is the part of the system where the failure begins. Diagnose sorts failures of the level "cause" by the
	// times of the texts in which the failures were found. Diagnose sorts failures of the level "general" in the same
	// way. If two texts have the same time, Diagnose compares the origins of the failures in these texts.
	Origin Origin `yaml:"origin"`
	Retry  Retry  `yaml:"retry"`
	// Cause is a sentence that explains the failure, and Remedy says what to do about it.
	Cause  string `yaml:"cause"`
	Remedy string `yaml:"remedy"`
	// Sources lists the kinds of texts in which Diagnose searches for the patterns.
	Sources []Source `yaml:"sources"`
	// Patterns are regular expressions in the syntax of RE2. A line of a text shows the failure if one of the patterns
	// matches the line.
	Patterns []string `yaml:"patterns"`
	// Traceback is true if the patterns match the first line of a Python traceback. Such patterns can also match a line
	// that shows an exception without a traceback. If the matched line begins a complete traceback, Diagnose returns
	// the last line of the traceback as evidence, because the last line names the exception.
	Traceback bool `yaml:"traceback"`

	patterns []pattern
	position int // in the catalogue
}

// Origin is the part of a system in which a failure begins.
type Origin string

// origins lists all origins. Failures of one origin can cause failures of the origins that come later in the list.
var origins = []Origin{"infrastructure", "preemption", "platform", "user", "gang", "capacity", "transient"}

//go:embed catalogue.yaml
var catalogueText []byte

// Catalogue returns all known failures. The order of the failures matters: if a line matches the patterns of several
// failures of the same level, Diagnose reports only the first of these failures.
func Catalogue() []Failure { return slices.Clone(catalogue()) }

// catalogue reads catalogue.yaml only once, at the first call. catalogue ignores an error of readCatalogue,
// because tests check that catalogue.yaml is valid.
var catalogue = sync.OnceValue(func() []Failure {
	all, _ := readCatalogue(catalogueText)
	return all
})

func readCatalogue(text []byte) ([]Failure, error) {
	var all []Failure
	if err := yaml.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("reading the catalogue of failures: %w", err)
	}
	for i := range all {
		if err := all[i].compile(); err != nil {
			return nil, fmt.Errorf("failure %s: %w", all[i].Code, err)
		}
		all[i].position = i
	}
	return all, nil
}

// compile calls newPatterns for each regular expression of a failure, and stores the returned patterns in the failure.
// If the failure has no level, compile sets the level to Cause.
func (f *Failure) compile() error {
	if f.Level == "" {
		f.Level = Cause
	}
	for _, text := range f.Patterns {
		patterns, err := newPatterns(text)
		if err != nil {
			return err
		}
		f.patterns = append(f.patterns, patterns...)
	}
	return nil
}
