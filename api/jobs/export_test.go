package jobs

// Watch makes the unexported method "watch" of Jobs available to tests.
var Watch = Jobs.watch
