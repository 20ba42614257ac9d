#pragma once

#include "waste/result.h"

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace waste::host {

// What rows belong to: the picture, how much of it was seen, and the eyes that saw it.
struct RowsKey {
    std::string content; // SHA-256 of the file, 64 hex digits
    bool half = false;
    std::string tower; // Engine::visionFingerprint(); empty: such rows are kept nowhere

    friend bool operator==(const RowsKey&, const RowsKey&) = default;
};

// Where a conversation keeps the rows of an attachment: beside it.
std::filesystem::path rowsFileOf(const std::filesystem::path& attachmentsFolder, const std::string& content, bool half);

// The rows of one picture on disk, so that a restart does not pay for looking again. Anybody may have written such a
// file: it is believed only if every byte is where it should be and every number is finite.
//
// "WASTEROW", version, floats (both u32), SHA-256 of the key and of the floats, floats. Little-endian.
Status saveRows(const std::filesystem::path& file, const RowsKey& key, std::span<const float> rows);
// Errors: those of reading; Corrupt where it holds anything else than `floatCount` floats for this key.
Result<std::vector<float>> loadRows(const std::filesystem::path& file, const RowsKey& key, std::uint64_t floatCount);

} // namespace waste::host
