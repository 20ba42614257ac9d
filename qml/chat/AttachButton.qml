import QtQuick
import QtQuick.Dialogs

import Waste.App
import Waste.Ui

// Chooses pictures from the disk.
IconButton {
    id: root

    objectName: "attachButton"
    name: qsTr("Attach pictures")
    iconName: "attach"
    onClicked: dialog.open()

    FileDialog {
        id: dialog
        objectName: "pictureDialog"
        title: qsTr("Attach pictures")
        fileMode: FileDialog.OpenFiles
        nameFilters: [qsTr("Pictures (%1)").arg("*.png *.jpg *.jpeg *.gif *.bmp *.tga *.psd"), qsTr("All files (*)")]
        onAccepted: App.chat.pictures.addFiles(dialog.selectedFiles)
    }
}
