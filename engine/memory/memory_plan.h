#pragma once

#include "waste/memory_plan.h"
#include "waste/result.h"

#include <cstdint>
#include <vector>

namespace waste {

// A slot holds one record, rounded up to this: buffers of whole 16 KiB pages can be handed to every
// device without a copy (spec: streaming 2 and 3.1).
inline constexpr std::uint64_t kSlotAlignment = 16384;
std::uint64_t slotBytes(std::uint64_t recordBytes);

// Code, heap, stacks and read buffers of the command line.
inline constexpr std::uint64_t kProgramBytes = std::uint64_t{48} << 20;

// What the plan needs to know of a model. Container and layers fill it; their allocators use the same
// functions (see ArenaSize).
struct ModelSizes {
    std::uint64_t trunkBytes = 0; // resident weights and codebooks
    std::uint64_t recordBytes = 0; // largest stride over the layers
    std::uint64_t allExpertsBytes = 0; // all banks
    std::uint32_t expertsPerToken = 0; // k
    std::uint32_t moeLayerCount = 0;
    std::uint32_t expertCount = 0; // per layer; 0: no experts
    std::uint64_t stateFixedBytes = 0; // of one sequence, whatever its length
    std::uint64_t stateBytesPerToken = 0; // more per position of the context
    std::uint64_t scratchBytes = 0; // every other buffer, for context and threads of the request and the first chunk
    // The chunks to choose from, ascending. The first is the floor's.
    struct PrefillChunk {
        std::uint32_t tokens = 0;
        std::uint64_t extraBytes = 0; // of scratch, beyond the first
    };
    std::vector<PrefillChunk> prefillChunks;
    std::uint64_t visionBytes = 0; // what the tower and a picture's buffers take; 0: no tower
    std::uint32_t checkpointCount = 1; // kept states without the per-token part
    std::uint32_t conversationCount = 1; // open at the same time
};

// Pure arithmetic, also when the budget is below the floor; spec: streaming 7.1 to 7.3.
// Errors: InvalidArgument (context of 0), Unsupported when the sizes exceed 64 bits.
Result<MemoryPlan> planMemory(const ModelSizes& sizes, const MemoryPlan::Request& request, const Machine& machine);

} // namespace waste
