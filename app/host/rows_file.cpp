#include "host/rows_file.h"

#include "waste/files.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <string_view>

namespace waste::host {

namespace {

constexpr std::string_view kMagic = "WASTEROW";
constexpr std::uint32_t kVersion = 1; // of the form and of how pictures are prepared
constexpr std::uint64_t kFloatsMax = std::uint64_t{1} << 28; // a gigabyte: beyond any budget of patches
constexpr std::size_t kDigits = 64;
constexpr std::size_t kHeaderBytes = kMagic.size() + 2 * sizeof(std::uint32_t) + 2 * kDigits;

static_assert(std::endian::native == std::endian::little, "rows are written as they lie in memory");

std::string keyText(const RowsKey& key)
{
    return sha256Text(key.content + (key.half ? ":half:" : ":full:") + key.tower);
}

std::string_view bytesOf(std::span<const float> rows)
{
    return {reinterpret_cast<const char*>(rows.data()), rows.size_bytes()};
}

void add(std::string& content, std::uint32_t number)
{
    content.append(reinterpret_cast<const char*>(&number), sizeof(number));
}

std::string headerOf(const RowsKey& key, std::span<const float> rows)
{
    std::string header(kMagic);
    add(header, kVersion);
    add(header, static_cast<std::uint32_t>(rows.size()));
    return header + keyText(key) + sha256Text(bytesOf(rows));
}

} // namespace

std::filesystem::path rowsFileOf(const std::filesystem::path& attachmentsFolder, const std::string& content, bool half)
{
    return attachmentsFolder / (content + (half ? ".half.rows" : ".rows"));
}

Status saveRows(const std::filesystem::path& file, const RowsKey& key, std::span<const float> rows)
{
    if (rows.size() > kFloatsMax)
        return Error{ErrorCode::InvalidArgument, "", "so many rows are not kept"};
    std::string content = headerOf(key, rows);
    content += bytesOf(rows);
    return replaceFile(file, content);
}

Result<std::vector<float>> loadRows(const std::filesystem::path& file, const RowsKey& key, std::uint64_t floatCount)
{
    const Error wrong{ErrorCode::Corrupt, "rows",
        textOfPath(file) + " does not hold what the model saw of this picture; it looks at it again"};
    if (floatCount > kFloatsMax)
        return wrong;
    const std::uint64_t sizeBytes = kHeaderBytes + floatCount * sizeof(float);
    WASTE_TRY(const std::string content, readFile(file, sizeBytes));
    if (content.size() != sizeBytes)
        return wrong;
    std::vector<float> rows(static_cast<std::size_t>(floatCount));
    std::memcpy(rows.data(), content.data() + kHeaderBytes, rows.size() * sizeof(float));
    if (std::string_view(content).substr(0, kHeaderBytes) != headerOf(key, rows)
        || !std::all_of(rows.begin(), rows.end(), [](float value) { return std::isfinite(value); }))
        return wrong;
    return rows;
}

} // namespace waste::host
