#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace waste::test {

// A staging folder as a download leaves it (spec: download 6), filled from a checkpoint shard by shard. The small files
// and the shards' headers are there from the beginning.
class FakeDownload {
public:
    FakeDownload(std::filesystem::path source, std::filesystem::path staging);

    [[nodiscard]] const std::vector<std::string>& shards() const { return m_shards; } // ascending by name
    void deliver(const std::string& shard); // verified, under its final name
    void deliverAll();
    // Bytes that nobody vouches for, under the shard's final name.
    void putUnverified(const std::string& shard) const;

private:
    void writePlan() const;
    void writeState() const;

    std::filesystem::path m_source;
    std::filesystem::path m_staging;
    std::vector<std::string> m_files; // by index of the plan
    std::vector<std::string> m_shards;
    std::set<std::string> m_verified;
};

} // namespace waste::test
