#pragma once

#include "waste/result.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace waste::test {

// One entry of tests/data/containers/damage.json: what is done to a golden container, and what a reader must
// then say. The file explains its own members.
struct DamageCase {
    enum class Stage : std::uint8_t { Open, Read, Verify, Evaluate };

    std::string row; // of the table in spec: container 13
    std::string name;
    std::string container;
    nlohmann::json operations;
    Stage stage = Stage::Open; // where it is refused, or up to where it is accepted
    std::vector<std::string> errors; // classes of which any is right; none: accepted
    std::string mentions; // part of the message
    std::vector<std::int32_t> ids; // of Stage::Evaluate
    bool sameLogits = false; // the container's golden logits stay right
    nlohmann::json matrix; // an expert's matrix after the damage, or null
};

// Empty if the file cannot be read, which the caller takes for a failure.
std::vector<DamageCase> damageCases();

std::filesystem::path goldenContainer(std::string_view name); // tests/data/containers/NAME.waste
inline constexpr const char* kGoldenContainers[] = {
    "kl-vq3r-q4g", "kl-vq2r-q8g", "kl-vq4p-q3g", "kl-vq4p-mixed", "kl-rows-f32", "k3-odd"};

// Makes `directory` a copy of a golden container; makeDamaged() then applies the case's damage to it. False if
// a file could not be written.
bool copyGolden(std::string_view name, const std::filesystem::path& directory);
bool makeDamaged(const DamageCase& damage, const std::filesystem::path& directory);

// The table's name for an error: IO, FORMAT, UNSUPPORTED, ARG.
std::string errorClass(const Error& error);

} // namespace waste::test
