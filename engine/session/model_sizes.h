#pragma once

#include "memory/memory_plan.h"
#include "session/model_files.h"
#include "waste/memory_plan.h"
#include "waste/result.h"

#include <array>
#include <cstdint>

namespace waste {

inline constexpr std::uint32_t kPrefillChunkTokensMax = 1024;
// What the plan chooses from. The first is part of the floor.
inline constexpr std::uint32_t kPrefillChunkTokensMin = 64;
inline constexpr std::array<std::uint32_t, 4> kLongerPrefillChunks = {128, 256, 512, 1024};
inline constexpr std::uint32_t kConversationsMax = 64;

// What the plan needs to know of a model. Every figure comes from the function that the allocator of that
// piece calls. The request has been completed and checked. Errors: those of VisionModel::describe(), where
// the request needs the tower.
Result<ModelSizes> modelSizes(const detail::ModelFiles& files, const MemoryPlan::Request& request);

} // namespace waste
