#pragma once

#include "convert/conversion_plan.h"
#include "waste/result.h"

#include <cstdint>
#include <filesystem>

namespace waste {

// Records whose checksums are looked at; headers are checked in any case.
enum class BankChecksums : std::uint8_t { Ends, All };

// Whether a bank file is whole: as long as planned, every record the one that belongs there. Errors: Corrupt
// naming the record, NotFound, Io.
Status checkBank(
    const std::filesystem::path& file, const ConversionPlan& plan, const BankEntry& entry, BankChecksums checksums);

} // namespace waste
