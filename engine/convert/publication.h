#pragma once

#include "convert/work_folder.h"
#include "waste/result.h"

#include <filesystem>

namespace waste {

// The last step of a conversion: trunk and manifest of the work folder become those of the container, both or
// neither (spec: conversion 7). The trunk is first renamed to trunk.bin.new, then the manifest to
// manifest.json.new; that second rename is the commit. Both then lose their suffix, the trunk first.
Status commitContainer(const WorkFolder& folder);

// Finishes a commit that was interrupted, or takes back one that had not happened. Call before a container's
// manifest is looked at.
Status recoverCommit(const std::filesystem::path& target);

} // namespace waste
