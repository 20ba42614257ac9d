#pragma once

#include "container/integrity.h"
#include "convert/conversion_plan.h"
#include "waste/result.h"

#include <cstdint>
#include <filesystem>
#include <functional>

namespace waste {

// Whether a bank file is whole: as long as planned, every record the one that belongs there and with the
// checksum that it states. One sequential read past the page cache, which also digests the file; `checked` is told
// the bytes of each record after it and can end the check. Errors: Corrupt naming the record, NotFound, Io, those of
// `checked`.
Result<FileDigest> checkBank(const std::filesystem::path& file, const ConversionPlan& plan, const BankEntry& entry,
    const std::function<Status(std::uint64_t bytes)>& checked);

} // namespace waste
