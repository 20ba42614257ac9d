#pragma once

#include "waste/result.h"

#include <map>
#include <string>
#include <string_view>

namespace waste {

// model.safetensors.index.json: which shard file holds which tensor (spec: conversion 1.1).
// Errors: Corrupt when it is not such an index or a shard is not a plain file name.
Result<std::map<std::string, std::string>> parseShardIndex(std::string_view json, std::string_view file);

} // namespace waste
