#include "bench_models.h"

#include "platform/path_text.h"
#include "platform/volume_space.h"
#include "waste/container.h"

#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace waste::benchmark {
namespace {

using test::WideFamily;
using test::WideModel;

constexpr std::uint64_t kFreeBytesKept = std::uint64_t{4} << 30; // a benchmark never fills a disk

// Few layers with a whole vocabulary would be mostly vocabulary: K3 has 93 of them to one.
constexpr std::uint32_t kSmallVocabulary = 8192;

constexpr WideModel kLinearWhole = {.family = WideFamily::KimiLinear, .layerCount = 27};
constexpr WideModel kLinearFull = {.family = WideFamily::KimiLinear, .layerCount = 9};
constexpr WideModel kLinearQuick = {
    .family = WideFamily::KimiLinear, .layerCount = 5, .expertCount = 128, .vocabularySize = kSmallVocabulary};
constexpr WideModel kK3Full = {.family = WideFamily::KimiK3, .layerCount = 5, .vocabularySize = kSmallVocabulary};
constexpr WideModel kK3Half = {.family = WideFamily::KimiK3, .layerCount = 3, .vocabularySize = kSmallVocabulary};
constexpr WideModel kK3Less = {
    .family = WideFamily::KimiK3, .layerCount = 3, .expertCount = 320, .vocabularySize = kSmallVocabulary};
constexpr WideModel kK3Quick = {
    .family = WideFamily::KimiK3, .layerCount = 2, .expertCount = 320, .vocabularySize = kSmallVocabulary};

std::string fileName(const std::string& name, const WideModel& model)
{
    const std::string experts = model.expertCount == 0 ? "" : "x" + std::to_string(model.expertCount);
    const std::string format = model.expertFormat == ExpertFormat::Vq3r ? "" : "-vq4p";
    return name + "-" + std::to_string(model.layerCount) + experts + format + ".waste";
}

} // namespace

BenchModels::BenchModels(Options options, const Table& table)
    : m_options(std::move(options))
    , m_table(table)
{
}

std::optional<std::filesystem::path> BenchModels::kimiLinear()
{
    if (m_options.size == Size::Quick)
        return firstThatFits("kimi-linear", {kLinearQuick});
    return firstThatFits("kimi-linear", {kLinearFull, kLinearQuick});
}

std::optional<std::filesystem::path> BenchModels::wholeKimiLinear()
{
    return m_options.size == Size::Quick ? std::nullopt : firstThatFits("kimi-linear", {kLinearWhole});
}

std::optional<std::filesystem::path> BenchModels::k3()
{
    if (m_options.size == Size::Quick)
        return firstThatFits("k3", {kK3Quick});
    return firstThatFits("k3", {kK3Full, kK3Half, kK3Less, kK3Quick});
}

std::optional<std::filesystem::path> BenchModels::firstThatFits(
    const std::string& name, const std::vector<test::WideModel>& models)
{
    for (const WideModel& model : models)
        if (auto path = obtain(name, model))
            return path;
    m_table.note("No room for a " + name
        + " container: its lines are left out. Free some space, or name a folder on another drive with --folder.");
    return std::nullopt;
}

std::optional<std::filesystem::path> BenchModels::obtain(const std::string& name, test::WideModel model)
{
    model.expertFormat = m_options.expertFormat;
    const std::filesystem::path path = m_options.folder / fileName(name, model);
    if (Container::open(path))
        return path;
    const auto bytes = test::wideContainerBytes(model);
    if (!bytes) {
        m_table.note(bytes.error().message);
        return std::nullopt;
    }
    std::error_code error;
    std::filesystem::create_directories(m_options.folder, error);
    const std::string gigabytes = std::to_string((*bytes + 999'999'999) / 1'000'000'000) + " GB";
    if (const auto freeBytes = freeSpaceBytes(m_options.folder); !freeBytes || *freeBytes < *bytes + kFreeBytesKept) {
        m_table.note(textFromPath(path) + " needs " + gigabytes + ", and there is not so much room");
        return std::nullopt;
    }
    m_table.note("making " + textFromPath(path) + " (" + gigabytes + ", kept for the next run)");
    if (const Status made = test::writeWideContainer(path, model); !made) {
        m_table.note(made.error().message);
        std::filesystem::remove_all(path, error);
        return std::nullopt;
    }
    return path;
}

} // namespace waste::benchmark
