-- A TrainJob that has ended can be neither suspended nor resumed.
local ended = false
if obj.status ~= nil and obj.status.conditions ~= nil then
  for _, c in ipairs(obj.status.conditions) do
    if (c.type == "Complete" or c.type == "Failed") and c.status == "True" then
      ended = true
    end
  end
end
local suspended = obj.spec ~= nil and obj.spec.suspend == true

local actions = {}
actions["suspend"] = {["disabled"] = ended or suspended, ["displayName"] = "Suspend: deletes its pods; resuming starts new ones", ["iconClass"] = "fa fa-fw fa-pause"}
actions["resume"] = {["disabled"] = ended or not suspended, ["displayName"] = "Resume", ["iconClass"] = "fa fa-fw fa-play"}
return actions
