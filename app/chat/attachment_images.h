#pragma once

#include "host/conversation.h"

#include <QQuickImageProvider>
#include <QString>

#include <cstdint>
#include <filesystem>
#include <string>

namespace waste::app {

// Pictures of conversations for the window, as image://attachment/CONVERSATION/SHA256: local files of the
// store and nothing else, of the few formats that are decoded here, and never larger than a limit.
// Any thread, as Qt asks.
class AttachmentImages : public QQuickImageProvider {
public:
    static constexpr const char* kName = "attachment";

    explicit AttachmentImages(std::filesystem::path dataFolder);

    QImage requestImage(const QString& id, QSize* size, const QSize& requestedSize) override;

private:
    const std::filesystem::path m_dataFolder;
};

QString attachmentUrl(const std::string& conversationId, const std::string& sha256);
// "640 × 480, 252 positions"; 0 positions are not said.
QString pictureDetails(const host::Block& picture);

} // namespace waste::app
