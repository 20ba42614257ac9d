#pragma once

#include "convert/work_folder.h"
#include "waste/result.h"

namespace waste {

// The last step of a conversion: trunk and manifest of the work folder become those of the container, both or
// neither (spec: conversion 7). The trunk is first renamed to trunk.bin.new, then the manifest to
// manifest.json.new; that second rename is the commit. Both then lose their suffix, the trunk first.
// A trunk that is in the container already and stays there is not in the work folder.
Status commitContainer(const WorkFolder& folder);

// Finishes a commit that was interrupted, or takes back one that had not happened: its trunk returns to the work
// folder. Call before a container's manifest is looked at.
Status recoverCommit(const WorkFolder& folder);

} // namespace waste
