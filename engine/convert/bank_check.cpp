#include "convert/bank_check.h"

#include "base/crc32.h"
#include "container/record_header.h"
#include "platform/direct_file.h"
#include "platform/path_text.h"

#include <array>
#include <string>
#include <vector>

namespace waste {

Status checkBank(
    const std::filesystem::path& path, const ConversionPlan& plan, const BankEntry& entry, BankChecksums checksums)
{
    const auto damaged = [&path](const std::string& what) {
        return Error{ErrorCode::Corrupt, "", textFromPath(path) + ": " + what};
    };
    WASTE_TRY(const DirectFile file, DirectFile::open(path, DirectFile::Access::Buffered));
    if (file.sizeBytes() != entry.bytes)
        return damaged(
            "has " + std::to_string(file.sizeBytes()) + " instead of " + std::to_string(entry.bytes) + " bytes");
    std::vector<std::byte> payload(plan.geometry.payloadEnd - kRecordHeaderBytes);
    for (std::uint32_t expert = 0; expert < entry.expertCount; ++expert) {
        const std::uint64_t offset = expert * plan.geometry.strideBytes;
        std::array<std::byte, kRecordHeaderBytes> header;
        WASTE_TRY_STATUS(file.readExactly(offset, header));
        const RecordHeader expected =
            RecordHeader::expected(plan.geometry, plan.quant, static_cast<std::uint16_t>(entry.layer),
                static_cast<std::uint16_t>(expert), static_cast<std::uint16_t>(entry.codebookBase));
        if (!recordHeaderMismatch(header, expected).empty())
            return damaged("the header of expert " + std::to_string(expert) + " is wrong");
        const bool isEnd = expert == 0 || expert + 1 == entry.expertCount;
        if (checksums == BankChecksums::Ends && !isEnd)
            continue;
        WASTE_TRY_STATUS(file.readExactly(offset + kRecordHeaderBytes, payload));
        if (crc32(payload) != RecordHeader::decode(header).payloadCrc32)
            return damaged("the checksum of expert " + std::to_string(expert) + " is wrong");
    }
    return {};
}

} // namespace waste
