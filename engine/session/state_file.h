#pragma once

#include "platform/direct_file.h"
#include "session/state_format.h"
#include "session/state_metadata.h"
#include "waste/result.h"
#include "waste/types.h"

#include <cstddef>
#include <filesystem>
#include <span>
#include <vector>

namespace waste::state {

// Content of one section. It comes and goes in pieces, because live state lies in several places.
struct SectionSource {
    SectionKind kind{};
    std::vector<std::span<const std::byte>> pieces;
};

// Replaces `path` by a state file: a temporary beside it, sections, flush, header, flush, rename. `header`
// lacks its sections and length. Errors: Io, NoSpace.
Status writeStateFile(const std::filesystem::path& path, Header header, std::span<const SectionSource> sections);

// A state file of which every byte has been checked: header and lengths first, then all content. One
// thread at a time.
class StateFile {
public:
    // For a session with room for `contextTokens`, which must be more than the state holds. Errors: NotFound,
    // Io, Unsupported, Corrupt with reason "other_model", "other_kernels" or "damaged", InvalidArgument (context).
    static Result<StateFile> open(
        const std::filesystem::path& path, const Identity& engine, std::uint32_t contextTokens);

    [[nodiscard]] const Header& header() const { return m_header; }
    [[nodiscard]] const std::vector<TokenId>& ids() const { return m_ids; } // [position], in the vocabulary
    [[nodiscard]] const Metadata& metadata() const { return m_metadata; }

    // Copies a section that the file has into pieces whose lengths add up to its own, and checks it once
    // more on the way: the file may have changed since open(). Errors: Io, Corrupt.
    Status read(SectionKind kind, std::span<const std::span<std::byte>> pieces) const;

private:
    StateFile(DirectFile file, Header header);
    Status checkContent();
    Status readIds();
    Status readMetadata();

    DirectFile m_file;
    Header m_header;
    std::vector<TokenId> m_ids;
    Metadata m_metadata;
};

} // namespace waste::state
