// Package safeyaml checks and decodes YAML that a tenant wrote.
//
// Programs differ in how they read unusual YAML, such as repeated keys, tags, merge keys, and keys that are not strings. A
// check can miss a forbidden value if it reads a file differently from the program that uses the file. Check therefore
// refuses unusual YAML. Check also refuses aliases, because a small file with aliases can need gigabytes of memory.
package safeyaml
