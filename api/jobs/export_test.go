package jobs

var Watch = Jobs.watch
