package load

import "testing"

func TestMisspelledName(t *testing.T) {
	misspelled := map[string][]string{
		"team-vision":     {"tem-vision", "taem-vision", "teams-vision", "tteam-vision", "team-visoin", "team-visian", "teamvision", "team--vision", "teamv-ision"},
		"mpi-openmpi-cpu": {"mpi-openmpi-cpuu", "mpi-openmpi-cup", "mpii-openmpi-cpu", "mpi-opnmpi-cpu", "mpiopenmpi-cpu"},
		"prod":            {"prd", "prodd", "pord"},
		"dev":             {"devv", "dve"},
	}
	for meant, names := range misspelled {
		for _, name := range names {
			if got := misspelledName(name, []string{"other", meant}); got != meant {
				t.Errorf("misspelledName(%q) = %q, want %q", name, got, meant)
			}
		}
	}
	onPurpose := map[string][]string{
		"team-a":              {"team-b", "team-ab", "team-a", "team-1"},
		"team-ml":             {"team-mle", "team-nl"},
		"team-vision":         {"team-visual", "vision", "team-vision-a"},
		"gpu":                 {"cpu", "vgpu", "npu"},
		"mpi":                 {"impi", "ompi", "mpich"},
		"mpi-openmpi-cpu":     {"mpi-openmpi-gpu", "mpi-openmpi", "mpi-mpich-cpu"},
		"dev":                 {"test", "dev2", "prod", "des"},
		"prod-eu":             {"prod-us", "prod-eus"},
		"cluster-use":         {"cluster-usw"},
		"a100":                {"h100", "a10", "a1000"},
		"openmpi-4-1":         {"openmpi-41", "openmpi-4-2"},
		"project-blue-a-long": {"project-blue-b-lang"},
	}
	for known, names := range onPurpose {
		for _, name := range names {
			if got := misspelledName(name, []string{known}); got != "" {
				t.Errorf("misspelledName(%q) = %q, want none", name, got)
			}
		}
	}
}
