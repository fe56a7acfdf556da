package main

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/trainyard/trainyard/controller"
)

// checks is a map from the name of a flag to a function that checks one value of the flag. If a flag is not in this
// map, it accepts all values of its type.
var checks = map[string]func(text string) error{
	"controllers":    checkController,
	"workers":        checkPositive,
	"kube-api-qps":   checkPositive,
	"kube-api-burst": checkPositive,
	"log-format":     checkLogFormat,
	"allow-address":  checkNetwork,
	"deny-address":   checkNetwork,
}

func checkController(text string) error {
	if !slices.Contains(controller.Names(), text) {
		return fmt.Errorf("want %s", strings.Join(controller.Names(), " or "))
	}
	return nil
}

func checkPositive(text string) error {
	if number, err := strconv.ParseFloat(text, 64); err != nil || !(number > 0) { // also refuses NaN
		return errors.New("want a number greater than 0")
	}
	return nil
}

func checkLogFormat(text string) error {
	if text != "text" && text != "json" {
		return errors.New("want text or json")
	}
	return nil
}

func checkNetwork(text string) error {
	if _, err := netip.ParsePrefix(text); err != nil {
		return errors.New("want a network such as 10.0.0.0/8")
	}
	return nil
}

// checkFlags checks the values of all flags. The error has one line for each wrong value.
func checkFlags(set *pflag.FlagSet) error {
	var problems []error
	set.VisitAll(func(flag *pflag.Flag) {
		check := checks[flag.Name]
		if check == nil {
			return
		}
		texts := []string{flag.Value.String()}
		if list, several := flag.Value.(pflag.SliceValue); several {
			texts = list.GetSlice()
		}
		for _, text := range texts {
			if err := check(text); err != nil {
				problems = append(problems, usageErrorf("--%s %q: %w", flag.Name, text, err))
			}
		}
	})
	if len(problems) == 0 {
		return nil
	}
	return &usageError{errors.Join(problems...)}
}
