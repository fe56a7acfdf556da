package bundles

import "testing"

func tree(t *testing.T, files map[string]string) Tree {
	t.Helper()
	var list []File
	for path, content := range files {
		list = append(list, File{Path: path, Content: Text([]byte(content))})
	}
	made, err := NewTree(list...)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func TestNewTreeRefusesBadPaths(t *testing.T) {
	cases := map[string][]File{
		"a path out of the bundle":     {{Path: "../a"}},
		"an absolute path":             {{Path: "/a"}},
		"no path":                      {{Path: ""}},
		"the bundle itself":            {{Path: "."}},
		"a path that is not clean":     {{Path: "a/../b"}},
		"the manifest's own name":      {{Path: ".trainyard-manifest"}},
		"two files of the same path":   {{Path: "a"}, {Path: "b"}, {Path: "a"}},
		"a backslash is not refused":   nil,
		"no files at all are no error": nil,
	}
	for name, files := range cases {
		t.Run(name, func(t *testing.T) {
			if _, err := NewTree(files...); (err != nil) != (files != nil) {
				t.Errorf("NewTree(%v) = %v", files, err)
			}
		})
	}
}
