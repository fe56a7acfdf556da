-- Argo CD runs this script without Lua's standard libraries.
local function condition(kind)
  if obj.status == nil or obj.status.conditions == nil then
    return nil
  end
  for _, c in ipairs(obj.status.conditions) do
    if c.type == kind and c.status == "True" then
      return c
    end
  end
  return nil
end

local function message_of(c)
  local message = c.reason or c.type
  if c.message ~= nil and c.message ~= "" then
    message = message .. ": " .. c.message
  end
  return message
end

-- counts returns the numbers of active and ready pods as text, for each entry of the field status.jobsStatus.
local function counts()
  local text = ""
  if obj.status ~= nil and obj.status.jobsStatus ~= nil then
    for _, job in ipairs(obj.status.jobsStatus) do
      if text ~= "" then
        text = text .. "; "
      end
      text = text .. job.name .. ": " .. (job.active or 0) .. " active, " .. (job.ready or 0) .. " ready"
      if (job.failed or 0) > 0 then
        text = text .. ", " .. job.failed .. " failed"
      end
    end
  end
  return text
end

local failed, complete, suspended = condition("Failed"), condition("Complete"), condition("Suspended")
if failed ~= nil then
  return {status = "Degraded", message = message_of(failed)}
end
if complete ~= nil then
  return {status = "Healthy", message = message_of(complete)}
end
if suspended ~= nil then
  return {status = "Suspended", message = message_of(suspended)}
end
if obj.status == nil then
  return {status = "Progressing", message = "Waiting for Trainer"}
end
local progress = counts()
if progress == "" then
  progress = "Waiting for its pods"
end
return {status = "Progressing", message = progress}
