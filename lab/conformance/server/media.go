package main

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/png"
)

var (
	pixel   = redPixel()
	silence = silentWave()
)

// redPixel is a PNG of one red pixel.
func redPixel() []byte {
	img := image.NewRGBA(image.Rect(0, 0, 1, 1))
	img.Set(0, 0, color.RGBA{R: 255, A: 255})
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		panic(err) // a buffer takes every byte
	}
	return b.Bytes()
}

// silentWave is a WAV file of one silent sample: 8 bit, mono, 8 kHz.
func silentWave() []byte {
	const rate = 8000
	sample := []byte{128, 0} // and the byte that pads it to an even length
	b := []byte("RIFF")
	b = binary.LittleEndian.AppendUint32(b, uint32(36+len(sample)))
	b = append(b, "WAVEfmt "...)
	b = binary.LittleEndian.AppendUint32(b, 16)
	b = binary.LittleEndian.AppendUint16(b, 1) // PCM
	b = binary.LittleEndian.AppendUint16(b, 1) // channels
	b = binary.LittleEndian.AppendUint32(b, rate)
	b = binary.LittleEndian.AppendUint32(b, rate) // bytes a second
	b = binary.LittleEndian.AppendUint16(b, 1)    // bytes a sample
	b = binary.LittleEndian.AppendUint16(b, 8)    // bits a sample
	b = append(b, "data"...)
	b = binary.LittleEndian.AppendUint32(b, 1)
	return append(b, sample...)
}
