-- Argo CD runs this script without Lua's standard libraries.
local verdicts = {
  {condition = "Failed", status = "Degraded"},
  {condition = "Completed", status = "Healthy"},
  {condition = "Suspended", status = "Suspended"},
}

if obj.status ~= nil and obj.status.conditions ~= nil then
  for _, verdict in ipairs(verdicts) do
    for _, c in ipairs(obj.status.conditions) do
      if c.type == verdict.condition and c.status == "True" then
        local message = c.reason or c.type
        if c.message ~= nil and c.message ~= "" then
          message = message .. ": " .. c.message
        end
        return {status = verdict.status, message = message}
      end
    end
  end
end

local text = ""
if obj.status ~= nil and obj.status.replicatedJobsStatus ~= nil then
  for _, job in ipairs(obj.status.replicatedJobsStatus) do
    if text ~= "" then
      text = text .. "; "
    end
    text = text .. job.name .. ": " .. (job.active or 0) .. " active, " .. (job.ready or 0) .. " ready"
  end
end
if text == "" then
  text = "Waiting for its jobs"
end
return {status = "Progressing", message = text}
