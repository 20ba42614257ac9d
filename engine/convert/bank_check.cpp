#include "convert/bank_check.h"

#include "container/record_header.h"
#include "kernels/checksum.h"
#include "platform/direct_file.h"
#include "platform/pages.h"
#include "platform/path_text.h"

#include <string>
#include <string_view>

namespace waste {
namespace {

// What is wrong with a record; empty: nothing.
std::string_view recordFault(
    std::span<const std::byte> record, const RecordHeader& expected, const ExpertGeometry& geometry)
{
    const auto header = record.first<kRecordHeaderBytes>();
    if (!recordHeaderMismatch(header, expected).empty())
        return "header";
    const auto payload = record.first(geometry.payloadEnd).subspan(kRecordHeaderBytes);
    return kernels::crc32(payload) == RecordHeader::decode(header).payloadCrc32 ? "" : "checksum";
}

} // namespace

Result<FileDigest> checkBank(const std::filesystem::path& path, const ConversionPlan& plan, const BankEntry& entry,
    const std::function<Status(std::uint64_t bytes)>& checked)
{
    const auto damaged = [&path](const std::string& what) {
        return Error{ErrorCode::Corrupt, "", textFromPath(path) + ": " + what};
    };
    WASTE_TRY(const DirectFile file, DirectFile::open(path, DirectFile::Access::Direct));
    if (file.sizeBytes() != entry.bytes)
        return damaged(
            "has " + std::to_string(file.sizeBytes()) + " instead of " + std::to_string(entry.bytes) + " bytes");
    const std::uint64_t strideBytes = plan.geometry.strideBytes;
    WASTE_TRY(const Pages pages, Pages::allocate(strideBytes, "checking a bank"));
    const std::span<std::byte> record = pages.bytes().first(strideBytes);
    FileDigester digester;
    for (std::uint32_t expert = 0; expert < entry.expertCount; ++expert) {
        WASTE_TRY_STATUS(file.readExactly(expert * strideBytes, record));
        const RecordHeader expected =
            RecordHeader::expected(plan.geometry, plan.quant, static_cast<std::uint16_t>(entry.layer),
                static_cast<std::uint16_t>(expert), static_cast<std::uint16_t>(entry.codebookBase));
        if (const std::string_view fault = recordFault(record, expected, plan.geometry); !fault.empty())
            return damaged("the " + std::string(fault) + " of expert " + std::to_string(expert) + " is wrong");
        digester.update(record);
        WASTE_TRY_STATUS(checked(strideBytes));
    }
    return digester.finish();
}

} // namespace waste
