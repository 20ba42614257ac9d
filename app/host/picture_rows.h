#pragma once

#include "host/engine_events.h"
#include "host/reading_pace.h"
#include "host/rows_file.h"
#include "waste/engine.h"
#include "waste/result.h"
#include "waste/types.h"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace waste::host {

// The pictures that a conversation showed the model: each is looked at once, under whatever name it comes, and after
// a restart not at all where its rows are kept beside it. One thread at a time.
//
// Every picture has the same placeholder id in a prompt, so ids alone do not say whether two prompts show
// the same. In its own lists of ids a ChatSession therefore has a number of this class, below zero, at each
// position of a picture; what goes to the engine is translated back.
class PictureRows {
public:
    using Progress = std::function<void(std::string_view name, std::uint64_t done, std::uint64_t total)>;

    PictureRows(Engine& engine, ReadingPace& pace); // which learns from it how long looking takes

    struct Shown {
        Picture picture;
        TokenId number = 0;
    };
    // Its file as it is now: another content is another picture. Errors: those of reading and of Picture::inspect().
    Result<Shown> show(const AttachedPicture& picture);

    [[nodiscard]] TokenId placeholderId() const { return m_engine.container().info().mediaPlaceholderId; }

    // What the engine reads for `ids`, some of them numbers. `before` are the ids in front of them: a picture
    // may have been cut between two calls.
    struct Input {
        std::vector<TokenId> ids;
        std::vector<float> rows; // for AppendOptions::pictureRows
    };
    Result<Input> translate(std::span<const TokenId> before, std::span<const TokenId> ids, const CancelFlag& cancel,
        const Progress& progress);

private:
    struct Entry {
        RowsKey key;
        AttachedPicture source; // the latest to show it
        Picture picture;
        std::vector<float> rows; // empty: not looked at, or forgotten
    };
    Result<std::span<const float>> rowsOf(std::size_t index, const CancelFlag& cancel, const Progress& progress);
    Result<std::vector<float>> look(const Entry& entry, const CancelFlag& cancel, const Progress& progress);

    Engine& m_engine;
    ReadingPace& m_pace;
    const std::string m_tower; // for keys
    std::vector<Entry> m_entries;
    std::vector<std::size_t> m_withRows; // the oldest first
};

} // namespace waste::host
