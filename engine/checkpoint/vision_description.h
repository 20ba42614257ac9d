#pragma once

#include "checkpoint/checkpoint_files.h"
#include "waste/result.h"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace waste {

// What a container calls vision.json (spec: container 10.3): the tower's configuration together with how
// the release prepares pictures. Null for a checkpoint without a tower. Adds a sentence to `warnings`
// where the release says nothing. Errors: Io, Corrupt.
Result<nlohmann::ordered_json> describeVision(const CheckpointFiles& files, std::vector<std::string>& warnings);

} // namespace waste
