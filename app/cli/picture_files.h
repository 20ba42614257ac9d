#pragma once

#include "cli/arguments.h"
#include "cli/engine_flags.h"
#include "cli/output.h"
#include "host/engine_events.h"
#include "host/reading_pace.h"

#include "waste/chat_format.h"
#include "waste/container.h"
#include "waste/engine.h"
#include "waste/picture.h"
#include "waste/result.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace waste::cli {

inline constexpr std::size_t kPicturesMax = 32; // in one prompt (spec: cli A.2)

// --image and --image-detail of `run`, `chat` and `eval`.
struct PictureFlags {
    std::vector<std::filesystem::path> files;
    PictureDetail detail = PictureDetail::Full;
};
void declarePictureFlags(Arguments& arguments, PictureFlags& flags, std::string help);
ValueParser detailInto(PictureDetail& detail); // full or half

// "252 positions, about 12 s", and whether that is an estimate.
std::string priceText(const Picture& picture, const host::ReadingPace& pace);

// The bytes of a picture. Errors: NotFound with reason not_found, as for every file that is named; whatever else keeps
// a picture from being read is Io with reason invalid_image (spec: cli B.3).
Result<std::string> readPicture(const std::filesystem::path& file);

// The pictures of one prompt, in the order in which they enter it. Files are read when they are added, when the model
// looks and when a conversation keeps them, and not held between, so that one of them is in memory at a time.
class PictureFiles {
public:
    struct Entry {
        std::string name;
        std::filesystem::path file; // empty: it came with the request
        std::string bytes; // if it came with the request
        std::uint64_t byteCount = 0;
        std::string content; // SHA-256 of the bytes
        Picture picture;
        PictureDetail detail = PictureDetail::Full;
        bool isKept = false; // the file is a conversation's: its path means nothing to a person
    };

    explicit PictureFiles(std::shared_ptr<const Container> container, PictureDetail detail = PictureDetail::Full);

    // Errors: those of reading and of Picture::inspect(); InvalidArgument beyond kPicturesMax.
    Status addFile(const std::filesystem::path& file);
    // Looks up what a request names: data: URLs and local files. Nothing is ever fetched over the network.
    // Lives no longer than this object.
    [[nodiscard]] ImageResolver resolver();
    // The same for image parts that name one of `attached` by its place there.
    [[nodiscard]] ImageResolver resolver(std::vector<host::AttachedPicture> attached);

    [[nodiscard]] bool isEmpty() const { return m_entries.empty(); }
    [[nodiscard]] const std::vector<Entry>& entries() const { return m_entries; }
    [[nodiscard]] std::vector<std::uint32_t> positionCounts() const;
    // The bytes of one of them. Errors: those of readPicture(); Io with reason invalid_image also where the file is not
    // the one that was added. Of a kept picture they say that it was.
    static Result<std::string> read(const Entry& entry);
    // What all of this takes while the model looks: the bytes that came with the request, and one more picture.
    [[nodiscard]] std::uint64_t memoryBytes() const;
    // The rows of all of them, one picture behind the other; a picture that comes again is looked at once, and not at
    // all where its rows lie among a conversation's attachments. Says before how long it may take, and behind each how
    // many positions it has.
    Result<std::vector<float>> encode(Engine& engine, Output& output, const CancelFlag& cancel,
        const std::filesystem::path& attachmentsFolder = {}) const;
    // Puts the rows beside the attachments. A full drive costs only the time of looking again.
    void keepRows(
        const Engine& engine, std::span<const float> rows, const std::filesystem::path& attachmentsFolder) const;

private:
    // `file` is where the bytes are from; empty: nowhere else.
    Status add(
        std::string name, std::filesystem::path file, std::string bytes, PictureDetail detail, bool isKept = false);

    std::shared_ptr<const Container> m_container;
    const PictureDetail m_detail;
    std::vector<Entry> m_entries;
};

// Has the plan count the tower and what the pictures take in this program; nothing without pictures.
Status planPictures(const Container& container, const PictureFiles& pictures, EngineFlags& flags);

} // namespace waste::cli
