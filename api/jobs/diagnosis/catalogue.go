package diagnosis

import (
	_ "embed" // the catalogue
	"fmt"
	"regexp"
	"slices"
	"sync"

	"go.yaml.in/yaml/v3"
)

// Level says how much a failure explains.
type Level string

const (
	// Cause is a failure that explains why the TrainJob failed or does not start.
	Cause Level = "cause"
	// General is a failure that has many possible causes. If the same TrainJob also has a failure of level Cause, that failure comes
	// first.
	General Level = "general"
	// Symptom is a failure that was caused by another failure. Its message does not name the other failure.
	Symptom Level = "symptom"
)

// Retry says whether the same TrainJob can succeed later.
type Retry string

const (
	// RetryNever means that somebody must change something first.
	RetryNever Retry = "no"
	// RetryAgain means that the same TrainJob can succeed if it runs again.
	RetryAgain Retry = "yes"
	// RetryWait means that the TrainJob starts by itself, as soon as there is room for it.
	RetryWait Retry = "wait"
)

// Failure is a known failure of TrainJobs.
type Failure struct {
	// Code is a short, stable name, such as OutOfMemory.
	Code  string `yaml:"code"`
	Level Level  `yaml:"level"`
	// Origin is the part of the system where the failure begins. It decides the order of failures of the same time.
	Origin Origin `yaml:"origin"`
	Retry  Retry  `yaml:"retry"`
	// Cause is a sentence about the reason of the failure, and Remedy says what to do.
	Cause  string `yaml:"cause"`
	Remedy string `yaml:"remedy"`
	// Sources lists the texts that the patterns apply to.
	Sources []Source `yaml:"sources"`
	// Patterns are regular expressions in the syntax of RE2. One of them must match a line.
	Patterns []string `yaml:"patterns"`
	// Traceback is true if the failure is the start of a traceback, whose last line is better evidence.
	Traceback bool `yaml:"traceback"`

	patterns []pattern
	position int // in the catalogue
}

// Origin is the part of a system in which a failure begins.
type Origin string

// origins lists all origins. A failure of an earlier origin can cause a failure of a later one.
var origins = []Origin{"infrastructure", "preemption", "platform", "user", "gang", "capacity", "transient"}

//go:embed catalogue.yaml
var catalogueText []byte

// Catalogue returns all known failures. If several failures match the same line, the first one applies.
func Catalogue() []Failure { return slices.Clone(catalogue()) }

// catalogue reads the catalogue once. Tests check that it is valid, so there is no error.
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

// compile sets defaults, and compiles the patterns.
func (f *Failure) compile() error {
	if f.Level == "" {
		f.Level = Cause
	}
	for _, text := range f.Patterns {
		expression, err := regexp.Compile(text)
		if err != nil {
			return err
		}
		f.patterns = append(f.patterns, pattern{expression, requiredTexts(text)})
	}
	return nil
}
