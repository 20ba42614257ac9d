#include "support/fake_download.h"

#include "platform/file_facts.h"
#include "platform/sha.h"
#include "support/safetensors_writer.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <thread>
#include <utility>

namespace waste::test {
namespace {

namespace fs = std::filesystem;

bool isShard(const std::string& name)
{
    return name.ends_with(".safetensors");
}

void writeAtomically(const fs::path& file, const std::string& text)
{
    fs::path temporary = file;
    temporary += ".tmp";
    std::ofstream(temporary, std::ios::binary) << text;
    // Some systems replace no file that is open, and the conversion may be reading it.
    std::error_code error;
    for (int tries = 0; tries == 0 || (error && tries < 1000); ++tries) {
        fs::rename(temporary, file, error);
        if (error)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (error)
        throw fs::filesystem_error("cannot replace", file, error);
}

} // namespace

FakeDownload::FakeDownload(fs::path source, fs::path staging)
    : m_source(std::move(source))
    , m_staging(std::move(staging))
{
    for (const auto& entry : fs::directory_iterator(m_source))
        m_files.push_back(entry.path().filename().string());
    std::ranges::sort(m_files);
    fs::create_directories(m_staging / ".waste-download" / "headers");
    for (std::size_t i = 0; i < m_files.size(); ++i) {
        if (!isShard(m_files[i])) {
            fs::copy_file(m_source / m_files[i], m_staging / m_files[i]);
            m_verified.insert(m_files[i]);
            continue;
        }
        m_shards.push_back(m_files[i]);
        const std::vector<std::byte> bytes = readBytes(m_source / m_files[i]);
        std::uint64_t headerBytes = 0;
        std::memcpy(&headerBytes, bytes.data(), sizeof(headerBytes));
        writeBytes(m_staging / ".waste-download" / "headers" / (std::to_string(i) + ".json"),
            std::span(bytes).subspan(sizeof(headerBytes), headerBytes));
    }
    writePlan();
    writeState();
}

void FakeDownload::deliver(const std::string& shard)
{
    fs::path part = m_staging / shard;
    part += ".part";
    fs::copy_file(m_source / shard, part, fs::copy_options::overwrite_existing);
    fs::rename(part, m_staging / shard);
    m_verified.insert(shard);
    writeState();
}

void FakeDownload::deliverAll()
{
    for (const std::string& shard : m_shards)
        deliver(shard);
}

void FakeDownload::putUnverified(const std::string& shard) const
{
    std::vector<std::byte> bytes = readBytes(m_source / shard);
    std::ranges::fill(std::span(bytes).subspan(bytes.size() / 2), std::byte{0x7F});
    writeBytes(m_staging / shard, bytes);
}

void FakeDownload::writePlan() const
{
    nlohmann::json files = nlohmann::json::array();
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < m_files.size(); ++i) {
        const std::vector<std::byte> bytes = readBytes(m_source / m_files[i]);
        Sha256 sha;
        sha.update(bytes);
        nlohmann::json file = {
            {"i", i}, {"path", m_files[i]}, {"size", bytes.size()}, {"kind", isShard(m_files[i]) ? "shard" : "small"}};
        file[isShard(m_files[i]) ? "sha256" : "oid"] = hexText(sha.finish());
        files.push_back(std::move(file));
        total += bytes.size();
    }
    const nlohmann::json plan = {{"format", 1}, {"job", "test"}, {"endpoint", "https://hub.invalid"},
        {"repo", "tiny/model"}, {"asked", "main"}, {"commit", std::string(40, 'a')}, {"gated", false},
        {"order", "conversion-1"}, {"files", files}, {"skipped", nlohmann::json::array()}, {"total_bytes", total}};
    writeAtomically(m_staging / ".waste-download" / "plan.json", plan.dump());
}

void FakeDownload::writeState() const
{
    nlohmann::json files = nlohmann::json::object();
    for (std::size_t i = 0; i < m_files.size(); ++i) {
        nlohmann::json& file = files[std::to_string(i)];
        file = {{"state", "fetching"}, {"durable", 0}};
        if (!m_verified.contains(m_files[i]))
            continue;
        const auto facts = fileFacts(m_staging / m_files[i]);
        if (facts)
            file = {{"state", "verified"}, {"mtime_ns", std::to_string(facts->modifiedNs)}, {"size", facts->bytes}};
    }
    writeAtomically(m_staging / ".waste-download" / "state.json",
        nlohmann::json({{"format", 1}, {"job", "test"}, {"seq", m_verified.size()}, {"files", files}}).dump());
}

} // namespace waste::test
