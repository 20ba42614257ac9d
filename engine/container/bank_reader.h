#pragma once

#include "container/codebooks.h"
#include "container/manifest.h"
#include "container/verification.h"
#include "kernels/weight_views.h"
#include "platform/direct_file.h"
#include "waste/result.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace waste {

// The open expert bank of one MoE layer (spec: container 4).
//
// A record is read by exactly one positional read of exactly one stride. All offsets are computed from
// shapes; those stored in the record are only compared with them. Any thread may read.
class BankReader {
public:
    // `direct` asks for reads past the page cache; isDirect() says whether the file system agreed. `manifest`
    // and `codebooks` outlive the reader.
    static Result<BankReader> open(const std::filesystem::path& directory, const Manifest& manifest,
        std::size_t bankIndex, const Codebooks& codebooks, bool direct);

    [[nodiscard]] std::uint64_t strideBytes() const { return m_geometry->strideBytes; }
    [[nodiscard]] bool isDirect() const { return m_file.isDirect(); }
    [[nodiscard]] const DirectFile& file() const { return m_file; }
    [[nodiscard]] std::uint64_t recordOffset(std::uint16_t expert) const { return expert * strideBytes(); }

    // Reads and checks one record. `target` is one stride long and page-aligned. Errors: Io, Corrupt
    // ("expert 4 of layer 2: ...").
    Status readRecord(std::uint16_t expert, std::span<std::byte> target, Verification verification) const;

    // The check alone, for bytes that came by another way (an asynchronous read).
    [[nodiscard]] Status check(
        std::uint16_t expert, std::span<const std::byte> record, Verification verification) const;

    // The matrices of a record that was checked; they point into it and into the codebooks.
    [[nodiscard]] std::array<kernels::VqMatrixView, kExpertMatrixCount> view(std::span<const std::byte> record) const;

private:
    BankReader() = default;
    [[nodiscard]] std::string recordName(std::uint16_t expert) const; // how messages begin

    const ExpertGeometry* m_geometry = nullptr;
    const ExpertQuant* m_quant = nullptr;
    const BankEntry* m_entry = nullptr;
    std::array<const float*, kExpertMatrixCount> m_codebooks = {};
    DirectFile m_file;
};

} // namespace waste
