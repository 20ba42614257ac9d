#pragma once

#include "cli/arguments.h"
#include "cli/output.h"

#include "waste/engine.h"
#include "waste/memory_plan.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace waste::cli {

// The options of every command that opens a model (spec: cli A.2 and B.2), declared in one place.
struct EngineFlags {
    std::string model;
    EngineOptions options;
};

// MODEL itself is a positional, or WASTE_MODEL.
void declareModel(Arguments& arguments, EngineFlags& flags);
void declareEngineFlags(Arguments& arguments, EngineFlags& flags);

// The folder that MODEL names. Error: InvalidArgument where there was none.
Result<std::filesystem::path> modelFolder(const EngineFlags& flags);
Result<std::shared_ptr<const Container>> openContainer(const EngineFlags& flags);
// How the engine would divide memory under these flags.
Result<MemoryPlan> memoryPlan(const Container& container, const EngineFlags& flags);
// What was meant, for a budget so small that its unit was forgotten; else empty.
std::string forgottenUnitHint(std::uint64_t budgetBytes);
// Reads the trunk. Says on standard error what budget was chosen and, on a terminal, how far it is.
Result<std::unique_ptr<Engine>> openEngine(
    std::shared_ptr<const Container> container, const EngineFlags& flags, Output& output, const CancelFlag& cancel);

} // namespace waste::cli
