// A state file in memory: header, sections and description. The checksum of the header is put right first,
// so that the fuzzer gets past it.

#include "base/crc32.h"
#include "base/little_endian.h"
#include "session/state_format.h"
#include "session/state_metadata.h"

#include <algorithm>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    using namespace waste;
    if (size < state::kHeaderBytes)
        return 0;
    const auto file = std::as_bytes(std::span(data, size));
    std::array<std::byte, state::kHeaderBytes> header{};
    std::copy_n(file.begin(), header.size(), header.begin());
    storeLittle(std::span(header), 12, std::uint32_t{0});
    storeLittle(std::span(header), 12, crc32(header));

    const auto decoded = state::decodeHeader(header, "fuzz");
    if (!decoded || !state::checkLayout(*decoded, size, "fuzz"))
        return 0;
    for (const state::Section& section : decoded->sections) {
        const auto bytes = file.subspan(section.offsetBytes, section.bytes); // inside, or the check has failed
        if (section.kind != state::SectionKind::Metadata)
            continue;
        const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        (void)state::parseMetadata(text, decoded->position, "fuzz");
    }
    return 0;
}
