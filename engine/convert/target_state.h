#pragma once

#include "container/manifest.h"
#include "convert/conversion_plan.h"
#include "convert/work_folder.h"
#include "waste/converter.h"
#include "waste/result.h"

#include <filesystem>
#include <optional>
#include <string>

namespace waste {

// What a conversion finds in its target.
struct TargetState {
    std::string created; // when the conversion was first begun
    std::optional<Manifest> published; // of a container that the same recipe made
};

// Decides whether the target may be written: it is empty, or holds what the same recipe began or finished,
// or `options.force` gives it up, which deletes what another recipe left. Afterwards the work folder has
// a plan.json that names the recipe. Errors: InvalidArgument (the target holds something else), Io.
Result<TargetState> prepareTarget(const WorkFolder& folder, const ConversionPlan& plan, const ConvertOptions& options);

// ConversionPlan::source of what was begun or finished in a target; empty: nothing was.
Result<std::string> begunSource(const std::filesystem::path& target);

} // namespace waste
