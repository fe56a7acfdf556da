// Package safeyaml checks and decodes YAML that a tenant wrote.
//
// Programs differ in how they read unusual YAML: repeated keys, tags, merge keys, and keys that are no texts. If two programs
// read a text differently, one of them can overlook what the other one does. Check therefore refuses such YAML. Check also
// refuses YAML that needs much more memory than its text, such as aliases.
package safeyaml
