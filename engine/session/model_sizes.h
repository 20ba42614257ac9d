#pragma once

#include "memory/memory_plan.h"
#include "session/model_files.h"
#include "waste/memory_plan.h"
#include "waste/result.h"

#include <cstdint>

namespace waste {

inline constexpr std::uint32_t kPrefillChunkTokensMax = 1024;
inline constexpr std::uint32_t kConversationsMax = 4; // kept in RAM, however small they are

// What the plan needs to know of a model. Every figure comes from the function that the allocator of that
// piece calls. `threadCount` of the request is at least 1. Errors: those of VisionModel::describe(), where
// the request needs the tower.
Result<ModelSizes> modelSizes(
    const detail::ModelFiles& files, const MemoryPlan::Request& request, std::uint32_t conversationCount);

} // namespace waste
